import { readFile, writeFile } from 'node:fs/promises'
import { policyTables, replaceTable } from '../policy/language/policy-tables.ts'
import { commandReference } from '../commands/command-reference.ts'
import { settingsReference } from '../config/settings-reference.ts'
import { printRecordTypes } from '../audit/record-types.ts'
import { replaceMetrics } from '../observability/metrics-reference.ts'

/** Writes the generated parts of the documentation: `npm run reference`. */
await writeFile(new URL('../../CONFIGURATION.md', import.meta.url), settingsReference())
await writeFile(new URL('../../docs/commands.md', import.meta.url), await commandReference())
const policies = new URL('../../docs/policy-reference.md', import.meta.url)
await writeFile(policies, policyTables.reduce(replaceTable, await readFile(policies, 'utf8')))
await writeFile(new URL('../../docs/audit-records.ts', import.meta.url), await printRecordTypes())
const observability = new URL('../../docs/observability.md', import.meta.url)
await writeFile(observability, await replaceMetrics(await readFile(observability, 'utf8')))
