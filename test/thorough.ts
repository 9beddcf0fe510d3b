/** Whether the long forms of tests run (`npm run test:thorough`): more of the same, and every store for every test. */
export const isThorough = process.env['THOROUGH'] === '1'
