/** `npm run test:long` plays more histories than `npm test`. */
export const IS_LONG = process.env['LONG'] === 'true';
