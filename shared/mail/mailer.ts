export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
}

export interface Mailer {
  readonly kind: 'outbox' | 'smtp';
  /**
   * The same id gives the same Message-ID, and in the outbox the same file.
   * @throws MailError
   */
  send(id: string, mail: Mail, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The message contains no address, no content and no password: it is shown and stored. */
export class MailError extends Error {
  override readonly name = 'MailError';
  /** Another try would fail, too. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal }: { readonly isFinal: boolean }) {
    super(message);
    this.isFinal = isFinal;
  }
}
