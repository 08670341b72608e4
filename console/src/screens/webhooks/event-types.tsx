import { BUYER, useRead } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { ChoicesField, type Choice } from '../../pieces/choices.tsx';

export type EventTypes = Schema<'EventTypeList'>['eventTypes'];

const noTypes: EventTypes = [];

export const useEventTypes = (): EventTypes =>
  useRead<Schema<'EventTypeList'>>(`${BUYER}/webhook-event-types`).data?.eventTypes ?? noTypes;

const choicesOf = (types: EventTypes): readonly Choice[] => {
  const families = [...new Set(types.map(({ type }) => type.split('.')[0] ?? type))];
  return [
    { value: '*', label: '*', description: 'Every kind, also those that later versions add.' },
    ...families.flatMap((family) => [
      { value: `${family}.*`, label: `${family}.*` },
      ...types
        .filter(({ type }) => type.startsWith(`${family}.`))
        .map(({ type, description }) => ({ value: type, label: type, description })),
    ]),
  ];
};

export const EventTypesField = ({ defaultValue }: { readonly defaultValue: readonly string[] }) => (
  <ChoicesField
    name="eventTypes"
    label="Kinds of events"
    choices={choicesOf(useEventTypes())}
    defaultValue={defaultValue}
  />
);
