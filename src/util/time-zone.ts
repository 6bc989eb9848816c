/**
 * IANA's names of time zones that `Intl.supportedValuesOf("timeZone")` leaves out, as other names of the zones that it
 * has: from `tzdata.zi` of version 2025b. `Intl` accepts names in any case, EventBridge Scheduler only as IANA writes
 * them.
 */
const otherZoneNames = `
Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca
America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza
America/Atikokan America/Atka America/Ensenada America/Fort_Wayne America/Indiana/Indianapolis
America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon America/Nuuk America/Pangnirtung
America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock
America/Thunder_Bay America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan
Asia/Chongqing Asia/Chungking Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar
Asia/Kathmandu Asia/Kolkata Asia/Macao Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator
Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen Australia/ACT Australia/Canberra Australia/Currie Australia/LHI
Australia/NSW Australia/North Australia/Queensland Australia/South Australia/Tasmania Australia/Victoria
Australia/West Australia/Yancowinna Brazil/Acre Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT
Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain Canada/Newfoundland Canada/Pacific
Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland Cuba EET EST EST5EDT Egypt Eire Etc/GMT
Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6
Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13 Etc/GMT-14
Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich Etc/UCT
Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Kyiv Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod
Europe/Zaporozhye GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan
Kwajalein Libya MET MST MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT
Pacific/Chuuk Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Samoa Pacific/Yap Poland Portugal ROC
ROK Singapore Turkey UCT US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii
US/Indiana-Starke US/Michigan US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`;

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns the local time in a zone at an instant, as epoch milliseconds as if that local time were UTC. Whole seconds
 * only.
 * @throws RangeError for a zone that does not exist.
 */
export function toWallTime(instant: number, zone: string): number {
  const field = Object.fromEntries(
    formatOf(zone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns the first instant with this local time in the zone. Undefined: a clock change skips it. */
export function toInstant(wallTime: number, zone: string): number | undefined {
  const offsets = [-1, 1].map((days) => offsetAt(wallTime + days * 86_400_000, zone));
  const instants = offsets.map((offset) => wallTime - offset).sort((a, b) => a - b);
  return instants.find((instant) => toWallTime(instant, zone) === wallTime);
}

/** Returns the milliseconds by which the zone is ahead of UTC. */
export function offsetAt(instant: number, zone: string): number {
  return toWallTime(instant, zone) - Math.floor(instant / 1000) * 1000;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(zone, format);
  return format;
}

let names: ReadonlySet<string> | undefined;

/**
 * True for the IANA name of a zone, in IANA's spelling, as AWS distinguishes case. False for offsets, and for
 * abbreviations that are no such name.
 */
export function isTimeZone(name: string): boolean {
  names ??= new Set([...Intl.supportedValuesOf("timeZone"), ...otherZoneNames.trim().split(/\s+/)]);
  if (!names.has(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    // This program's zones are older than the list.
    return false;
  }
}
