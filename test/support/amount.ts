/**
 * The size of a repeated test: `short` proves the behaviour in a normal run, `long` (`LONG_FORMS=true`) finds rare
 * failures.
 */
export const amount = (short: number, long: number): number =>
  process.env['LONG_FORMS'] === 'true' ? long : short;
