import { readFile, writeFile } from 'node:fs/promises'
import { withFactsReference } from '../policy/language/facts-reference.ts'
import { settingsReference } from '../config/settings-reference.ts'

/** Writes the generated parts of the documentation: `npm run reference`. */
await writeFile(new URL('../../CONFIGURATION.md', import.meta.url), settingsReference())
const policies = new URL('../../policies/README.md', import.meta.url)
await writeFile(policies, withFactsReference(await readFile(policies, 'utf8')))
