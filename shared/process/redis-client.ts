import { VerbatimString } from 'ioredis/built/resp/verbatim-string.js';

export { Redis } from 'ioredis';

/**
 * ioredis defines a class that extends `String`. Until a method of an instance is called, V8 (Node.js 20 to 24) keeps
 * `String.prototype` in a slow form, and `charCodeAt` takes four times as long in the whole process. The call must
 * come before other code is compiled, so Redis is imported from here alone.
 */
new VerbatimString('txt', ' ').charCodeAt(0);
