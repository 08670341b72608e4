import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { GrpcStatus } from './grpc-status.ts';
import type { NodeContext } from './node-context.ts';

/** The answer to a read: messages at the client's pace, until either side ends it. */
export interface Outgoing {
  readonly isOver: boolean;
  /** Resolves at the end. */
  readonly over: Promise<void>;
  /** Waits until the registered callback is called, or until the end. */
  pause(register: (wake: () => void) => void): Promise<void>;
  /** Resolves when the next message can be sent, or at the end. */
  send(message: ReadResp): Promise<void>;
  /** Ends with a status, or with OK. */
  end(status?: GrpcStatus): void;
}

/** @param whenInTouch from the node: it does not send events that it cannot have */
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
  // One pending promise at a time: racing every wait against `over` would add one reaction for each message.
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
