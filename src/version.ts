import { createRequire } from 'node:module'

/** The version of this software, as its package says. */
export const version: string = (createRequire(import.meta.url)('../package.json') as { version: string })
  .version
