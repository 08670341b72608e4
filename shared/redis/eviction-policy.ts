/**
 * What a Redis does when its memory is full, e.g. `noeviction`; undefined when it does not say. By INFO: hosted
 * servers often forbid CONFIG.
 */
export const evictionPolicyOf = async (redis: {
  info(section: string): Promise<string>;
}): Promise<string | undefined> => /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
