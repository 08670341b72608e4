/** One frame of a stream of server-sent events. */
export interface Frame {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

export interface FrameReader {
  readonly onFrame: (frame: Frame) => void;
  /** How long the server asks to wait before the next connection. */
  readonly onRetryMs: (ms: number) => void;
}

/** Reads server-sent events (WHATWG HTML, 9.2.6). @returns a function that takes the next piece of text */
export const createFrameParser = ({ onFrame, onRetryMs }: FrameReader): ((piece: string) => void) => {
  let rest = '';
  let event = '';
  let data: string[] = [];
  let id: string | undefined;
  const readLine = (line: string): void => {
    if (line === '') {
      if (data.length > 0) onFrame({ event: event || 'message', data: data.join('\n'), id });
      event = '';
      data = [];
      id = undefined;
      return;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) onRetryMs(Number(value));
  };
  return (piece) => {
    rest += piece;
    // A carriage return at the end may be the first half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) readLine(line);
  };
};
