import type { z } from 'zod';

/** A fact, named in the past tense. `occurredAt` is ISO 8601 UTC, taken from the command. */
export interface DomainEvent<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
  readonly occurredAt: string;
}

export type EventsOf<Schemas extends Readonly<Record<string, { readonly data: z.ZodType }>>> = {
  [Type in keyof Schemas & string]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas & string];

/** Events to append (none when the effect already holds), or a typed refusal. */
export type Decision<Event, Refusal> = { readonly events: readonly Event[] } | { readonly refused: Refusal };

export const accept = <Event>(...events: readonly Event[]): { readonly events: readonly Event[] } => ({
  events,
});

export const refuse = <Refusal>(refused: Refusal): { readonly refused: Refusal } => ({ refused });
