interface Money {
  readonly total: number;
  readonly currency: string;
}

export const moneyText = (money: Money | undefined): string => {
  if (money === undefined) return '–';
  try {
    return new Intl.NumberFormat(undefined, { style: 'currency', currency: money.currency }).format(
      money.total,
    );
  } catch {
    return `${money.total} ${money.currency}`;
  }
};
