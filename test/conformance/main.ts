// Tests a catalog at any URL against the catalog API: npm run conformance -- --url URL --api-key KEY [--token TOKEN]
import { parseArgs } from 'node:util'
import { runConformance } from './conformance.ts'
import { formatOutcomes } from './format-outcomes.ts'

const usage = 'usage: npm run conformance -- --url URL [--api-key KEY] [--token TOKEN]\n'

function readArguments() {
  try {
    const { values } = parseArgs({
      options: { url: { type: 'string' }, 'api-key': { type: 'string' }, token: { type: 'string' } },
    })
    return URL.canParse(values.url ?? '') ? values : undefined
  } catch {
    return undefined
  }
}

const values = readArguments()
if (values?.url === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  try {
    const outcomes = await runConformance({
      url: values.url,
      credentials: {
        ...(values['api-key'] !== undefined && { 'x-api-key': values['api-key'] }),
        ...(values.token !== undefined && { authorization: `Bearer ${values.token}` }),
      },
    })
    process.stdout.write(formatOutcomes(outcomes))
    process.exitCode = outcomes.some(({ result }) => result === 'failed') ? 1 : 0
  } catch (error) {
    process.stderr.write(
      `the catalog cannot be tested: ${error instanceof Error ? error.message : String(error)}\n`,
    )
    process.exitCode = 1
  }
}
