/** The installation itself lacks something. */
export class IncompleteBackupError extends Error {
  override readonly name = 'IncompleteBackupError';
}
