import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { GrpcStatus } from './grpc-status.ts';
import type { NodeContext } from './node-context.ts';

/** The answer to a read: messages at the pace of the client, until either side ends it. */
export interface Outgoing {
  readonly isOver: boolean;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  /** Waits for what `register` is given to be called, or until it is over. */
  pause(register: (wake: () => void) => void): Promise<void>;
  /** Resolves when there is room for more, or it is over. */
  send(message: ReadResp): Promise<void>;
  /** Ends with a status, or with OK. */
  end(status?: GrpcStatus): void;
}

/** @param whenInTouch as of the node: what it cannot know it does not send */
export const createOutgoing = (
  call: ServerWritableStream<ReadReq, ReadResp>,
  whenInTouch: NodeContext['whenInTouch'],
): Outgoing => {
  let isOver = false;
  let wake = (): void => {};
  let resolveOver = (): void => {};
  const over = new Promise<void>((resolve) => {
    resolveOver = resolve;
  });
  const finish = (): void => {
    isOver = true;
    resolveOver();
    wake();
  };
  // One pending promise at a time: racing every wait against `over` would collect one reaction per message.
  const pause: Outgoing['pause'] = async (register) => {
    if (isOver) return;
    await new Promise<void>((resolve) => {
      wake = resolve;
      register(resolve);
    });
  };
  call.on('cancelled', finish).on('close', finish).on('error', finish);
  return {
    get isOver() {
      return isOver;
    },
    over,
    pause,
    send: async (message) => {
      for (let wait = whenInTouch(); wait !== undefined && !isOver; wait = whenInTouch()) await wait;
      if (isOver || call.write(message)) return;
      await pause((resume) => call.once('drain', resume));
    },
    end: (status) => {
      if (isOver) return;
      finish();
      if (status === undefined) call.end();
      else call.emit('error', status);
    },
  };
};
