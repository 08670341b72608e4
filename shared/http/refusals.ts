import type { ApiError } from './errors.ts';

type Reasons<Refusal extends { readonly reason: string }> = {
  readonly [Reason in Refusal['reason']]: (refusal: Refusal & { readonly reason: Reason }) => ApiError;
};

export const refusals =
  <Refusal extends { readonly reason: string }>(reasons: Reasons<Refusal>) =>
  (refusal: Refusal): ApiError => {
    const errorOf: (refusal: never) => ApiError = reasons[refusal.reason as Refusal['reason']];
    return errorOf(refusal as never);
  };
