import { readFile, writeFile } from 'node:fs/promises'
import { factsReference } from '../policy/language/facts-reference.ts'
import { replaceTable } from '../policy/language/generated-table.ts'
import { requirementsReference } from '../policy/language/requirements-reference.ts'
import { commandReference } from '../commands/command-reference.ts'
import { settingsReference } from '../config/settings-reference.ts'

/** Writes the generated parts of the documentation: `npm run reference`. */
await writeFile(new URL('../../CONFIGURATION.md', import.meta.url), settingsReference())
await writeFile(new URL('../../docs/commands.md', import.meta.url), await commandReference())
const policies = new URL('../../policies/README.md', import.meta.url)
const readme = await readFile(policies, 'utf8')
await writeFile(policies, [factsReference, requirementsReference].reduce(replaceTable, readme))
