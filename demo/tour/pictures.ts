/** Pictures to upload: plain colours, 300 by 250 pixels. */
export const blue = Uint8Array.from(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAASwAAAD6AQMAAAAho+iwAAAAA1BMVEUeWshkKUz8AAAAIElEQVR42u3BAQ0AAADCoPdPbQ8HFAAAAAAAAAAAAD8GJhYAAaqKu7kAAAAASUVORK5CYII=',
    'base64',
  ),
);
export const green = Uint8Array.from(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAASwAAAD6AQMAAAAho+iwAAAAA1BMVEUeoFB0rl69AAAAIElEQVR42u3BAQ0AAADCoPdPbQ8HFAAAAAAAAAAAAD8GJhYAAaqKu7kAAAAASUVORK5CYII=',
    'base64',
  ),
);
export const red = Uint8Array.from(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAASwAAAD6AQMAAAAho+iwAAAAA1BMVEXIMijgAwapAAAAIElEQVR42u3BAQ0AAADCoPdPbQ8HFAAAAAAAAAAAAD8GJhYAAaqKu7kAAAAASUVORK5CYII=',
    'base64',
  ),
);
