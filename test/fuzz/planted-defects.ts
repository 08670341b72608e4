/** The defects of the careless service, and the finding that each must cause. */
export const plantedDefects = {
  nul: /status 500/,
  deep: /status 500/,
  pollution: /prototype\.\w+ is polluted/,
  envelope: /a refusal in another envelope/,
  leak: /a stack trace in a refusal/,
  exit: /the process ended/,
  raw: /no X-Request-Id/,
} as const;

export type Defect = keyof typeof plantedDefects;
