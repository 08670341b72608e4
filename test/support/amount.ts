/**
 * How much of the same a test does: as much as shows the thing in a test run, or, with `LONG_FORMS=true`, as much as
 * finds what happens seldom.
 */
export const amount = (short: number, long: number): number =>
  process.env['LONG_FORMS'] === 'true' ? long : short;
