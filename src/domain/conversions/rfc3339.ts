const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const MINUTE_MS = 60_000;
const [ZERO, DASH, COLON, DOT, PLUS] = [48, 45, 58, 46, 43] as const;

/** The number of `count` digits at a place; not a number when one of them is none. */
const digits = (text: string, at: number, count: number): number => {
  let number = 0;
  for (let place = at; place < at + count; place += 1) {
    const digit = text.charCodeAt(place) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
};

/** `T` or `Z`, in either case. */
const isLetter = (text: string, at: number, letter: 84 | 90): boolean =>
  (text.charCodeAt(at) & ~32) === letter;

const isDate = (year: number, month: number, day: number): boolean => {
  const isLeapDay = month === 2 && day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && (day <= (DAYS[month - 1] ?? 0) || isLeapDay);
};

/** Minutes of `Z`, `+hh:mm` or `-hh:mm` at a place where the text must end with it. */
const offsetMinutes = (text: string, at: number): number => {
  if (at === text.length - 1 && isLetter(text, at, 90)) return 0;
  const sign = text.charCodeAt(at);
  const [hours, minutes] = [digits(text, at + 1, 2), digits(text, at + 4, 2)];
  const isOffset =
    at === text.length - 6 &&
    (sign === PLUS || sign === DASH) &&
    text.charCodeAt(at + 3) === COLON &&
    hours <= 23 &&
    minutes <= 59;
  if (!isOffset) return Number.NaN;
  return sign === PLUS ? hours * 60 + minutes : -(hours * 60 + minutes);
};

/**
 * Milliseconds since the epoch of an RFC 3339 date-time with any offset; undefined when it is none, or no date of
 * the calendar (30 February, 24:00, a leap second). Digits beyond the millisecond are dropped. Read by hand: a
 * regular expression takes as long as everything else that is checked of an event.
 */
export const parseRfc3339 = (text: string): number | undefined => {
  if (text.length < 20 || text.length > 35) return undefined;
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2)];
  const [hour, minute, second] = [digits(text, 11, 2), digits(text, 14, 2), digits(text, 17, 2)];
  const isFormed =
    text.charCodeAt(4) === DASH &&
    text.charCodeAt(7) === DASH &&
    isLetter(text, 10, 84) &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON;
  // `Date.UTC` reads the years 0 to 99 as 1900 to 1999.
  const isTime = year >= 100 && isDate(year, month, day) && hour <= 23 && minute <= 59 && second <= 59;
  if (!isFormed || !isTime) return undefined;
  let at = 19;
  let ms = 0;
  if (text.charCodeAt(at) === DOT) {
    const start = at + 1;
    for (at = start; text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= ZERO + 9; at += 1) {
      ms += at - start < 3 ? (text.charCodeAt(at) - ZERO) * 10 ** (2 - (at - start)) : 0;
    }
    if (at === start || at > start + 9) return undefined;
  }
  const offsetMs = offsetMinutes(text, at) * MINUTE_MS;
  return Number.isNaN(offsetMs)
    ? undefined
    : Date.UTC(year, month - 1, day, hour, minute, second, ms) - offsetMs;
};
