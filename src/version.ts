import { createRequire } from 'node:module'
import { getMembers } from './lib/index.ts'

const manifest = getMembers(createRequire(import.meta.url)('../package.json'))

/** The version of this software, as its package says. */
export const version = String(manifest['version'])
