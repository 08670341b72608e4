import type { z } from 'zod';

/** A fact: past tense, named as the business says it. `occurredAt` is ISO 8601 UTC, taken from the command. */
export interface DomainEvent<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
  readonly occurredAt: string;
}

/** The events of a stream, one shape for each type that its schemas name. */
export type EventsOf<Schemas extends Readonly<Record<string, { readonly data: z.ZodType }>>> = {
  [Type in keyof Schemas & string]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas & string];

/** What a command leads to: events to append (none when its effect already holds), or a typed refusal. */
export type Decision<Event, Refusal> = { readonly events: readonly Event[] } | { readonly refused: Refusal };

/** Accepts the command: these events follow. */
export const accept = <Event>(...events: readonly Event[]): { readonly events: readonly Event[] } => ({
  events,
});

/** Refuses the command for a reason its caller can act on. */
export const refuse = <Refusal>(refused: Refusal): { readonly refused: Refusal } => ({ refused });
