/**
 * A list item that breaks a rule of the JSON reader (`http/json-ingress.ts`). It replaces the item in the list, so
 * that the handler can refuse this item and accept the others.
 */
export class RefusedItem {
  readonly member: string | undefined;
  /** E.g. `a number that is too large`. */
  readonly fault: string;
  /** JSON text of the item as it was sent. */
  readonly text: string;

  constructor(fault: string, member: string | undefined, text: string) {
    this.fault = fault;
    this.member = member;
    this.text = text;
  }
}
