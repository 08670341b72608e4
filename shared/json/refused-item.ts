/**
 * An item of a list in a request body that breaks a rule of the JSON reader (`http/json-ingress.ts`). It stands at its
 * place in the list, so that the handler can refuse this item and take the others.
 */
export class RefusedItem {
  /** Member of the item at fault; undefined when that is the item itself. */
  readonly member: string | undefined;
  /** What the item holds, e.g. `a number that is too large`. */
  readonly fault: string;
  /** JSON text of the item as it was sent. */
  readonly text: string;

  constructor(fault: string, member: string | undefined, text: string) {
    this.fault = fault;
    this.member = member;
    this.text = text;
  }
}
