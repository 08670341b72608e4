import { ConfigError, type Config } from './config.ts';
import { memoryBytes } from '../shared/process/memory-bytes.ts';

const MIB = 2 ** 20;
const DEFAULT_MIB = 512;

type Settings = Pick<Config, 'CONVERSIONS_MEMORY_MB' | 'ROLES'>;

/** The setting, or its default, which fits into the container. */
export const conversionsMemoryBytes = (
  { CONVERSIONS_MEMORY_MB }: Settings,
  available: number = memoryBytes(),
): number =>
  CONVERSIONS_MEMORY_MB === undefined
    ? Math.min(DEFAULT_MIB * MIB, Math.floor(available / 4))
    : CONVERSIONS_MEMORY_MB * MIB;

/**
 * Beyond half of the memory, the kernel would end the process once many conversion events are known, maybe months
 * after the setting was made.
 * @throws ConfigError
 */
export const refuseTooMuchMemory = (config: Settings, available: number = memoryBytes()): void => {
  if (!config.ROLES.includes('api')) return;
  const half = Math.floor(available / 2 / MIB);
  if (conversionsMemoryBytes(config, available) <= half * MIB) return;
  throw new ConfigError(
    `CONVERSIONS_MEMORY_MB: must be at most ${half}, half of the ${Math.floor(available / MIB)} MB that this process ` +
      'may use, or raise the memory limit of its container',
  );
};
