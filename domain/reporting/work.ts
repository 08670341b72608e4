/** A seller is asked regularly for the delivery of an account's media buys. Key: derived from account and seller. */
export const SELLER_DELIVERY = 'seller-delivery';
