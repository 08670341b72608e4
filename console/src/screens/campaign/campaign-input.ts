import type { Values } from '../../pieces/form.tsx';

/** What the fields of a campaign send; an empty field is left out. */
export const campaignInput = (values: Values): Readonly<Record<string, unknown>> => {
  const {
    name,
    brief = '',
    'budget.total': total = '',
    'flight.startAt': startAt = '',
    'flight.endAt': endAt = '',
  } = values;
  return {
    name,
    ...(brief === '' ? {} : { brief }),
    // What is no number goes as it is: the service says what is wrong with it.
    ...(total === '' ? {} : { budget: { total: Number.isNaN(Number(total)) ? total : Number(total) } }),
    ...(startAt === '' && endAt === ''
      ? {}
      : { flight: { startAt: instantOf(startAt), endAt: instantOf(endAt) } }),
  };
};

/** A local time of the browser. */
const instantOf = (local: string): string => (local === '' ? '' : new Date(local).toISOString());

/** For a `datetime-local` field. */
export const localOf = (instant: string | undefined): string => {
  if (instant === undefined) return '';
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};
