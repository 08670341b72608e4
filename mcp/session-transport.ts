import { randomUUID } from 'node:crypto';
import {
  isJSONRPCRequest,
  type InitializeRequestParams,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/server';
import { sleep } from '../shared/async/backoff.ts';
import type { SessionQuestions } from './session-questions.ts';

const ASK_EVERY_MS = 250;
const RESTORED = 'restore-session';

export interface SessionLink {
  /** What the client said when the session began: this server has not heard it. */
  readonly initialize: InitializeRequestParams;
  readonly questions: SessionQuestions;
  readonly signal: AbortSignal;
}

/**
 * A session's client answers a question, e.g. for a person's consent, with a request of its own, which may reach
 * another process. So questions get an id that is unique over all processes, and their answers come from the database.
 */
export class SessionTransport implements Transport {
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #inner: Transport;
  readonly #link: SessionLink;
  #serving: JSONRPCRequest['id'] | undefined;

  constructor(inner: Transport, link: SessionLink) {
    this.#inner = inner;
    this.#link = link;
  }

  async start(): Promise<void> {
    const inner = this.#inner;
    Object.assign(inner, {
      onmessage: (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
        if (isJSONRPCRequest(message)) this.#serving = message.id;
        this.onmessage?.(message, extra);
      },
      onclose: () => this.onclose?.(),
      onerror: (error: Error) => this.onerror?.(error),
    });
    await inner.start();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions);
  }

  /** Tells the server what the client declared. */
  restore(): void {
    const { initialize: params } = this.#link;
    this.onmessage?.({ jsonrpc: '2.0', id: RESTORED, method: 'initialize', params });
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('id' in message && message.id === RESTORED) return;
    if (!isJSONRPCRequest(message)) return this.#inner.send(message, options);
    const id = randomUUID();
    await this.#link.questions.ask(id);
    // On the stream of the call that asks: the client may have no other.
    const relatedRequestId = options?.relatedRequestId ?? this.#serving;
    await this.#inner.send(
      { ...message, id },
      { ...options, ...(relatedRequestId !== undefined && { relatedRequestId }) },
    );
    void this.#deliverAnswer(id, message.id);
  }

  async #deliverAnswer(id: string, original: JSONRPCRequest['id']): Promise<void> {
    const { questions, signal } = this.#link;
    try {
      let answer: JSONRPCMessage | undefined;
      while (answer === undefined && !signal.aborted) {
        await sleep(ASK_EVERY_MS, signal);
        answer = await questions.answerOf(id);
      }
      if (answer !== undefined) this.onmessage?.({ ...answer, id: original });
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    } finally {
      await questions.forget(id).catch(() => undefined);
    }
  }
}
