/** Replaces a list item that breaks a rule, so that a handler can refuse only this item. */
export class RefusedItem {
  readonly member: string | undefined;
  /** E.g. `a number that is too large`. */
  readonly fault: string;
  readonly text: string;

  constructor(fault: string, member: string | undefined, text: string) {
    this.fault = fault;
    this.member = member;
    this.text = text;
  }
}
