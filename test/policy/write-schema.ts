import { writeFile } from 'node:fs/promises'
import { decisionTableSchema, policySchema } from '../../src/policy/json-schema.ts'

/** Writes the schemas of policies/ anew: `npm run schema`. */
for (const [name, schema] of Object.entries({
  'schema.json': policySchema(),
  'decision-table.schema.json': decisionTableSchema(),
})) {
  await writeFile(
    new URL(`../../policies/${name}`, import.meta.url),
    `${JSON.stringify(schema, undefined, 2)}\n`,
  )
}
