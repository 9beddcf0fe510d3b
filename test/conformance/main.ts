// Tests a catalog at any URL against the catalog API: npm run conformance -- --url URL --api-key KEY [--token TOKEN]
import { parseArgs } from 'node:util'
import { runConformance, type Result } from './conformance.ts'
import { formatOutcomes } from './format-outcomes.ts'

/** The results that make the exit status 1, by the value of --fail-on. */
const failing: Readonly<Record<string, readonly Result[]>> = {
  never: [],
  failed: ['failed'],
  missing: ['failed', 'missing'],
  skipped: ['failed', 'missing', 'skipped'],
}

const usage = `usage: npm run conformance -- --url URL [--api-key KEY] [--token TOKEN] [--fail-on ${Object.keys(failing).join('|')}]
  --fail-on  exit status 1 if the catalog does something differently (failed, the default), also if it lacks
             something (missing), or also if something could not be tested (skipped)
`

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        url: { type: 'string' },
        'api-key': { type: 'string' },
        token: { type: 'string' },
        'fail-on': { type: 'string', default: 'failed' },
      },
    })
    const results = Object.hasOwn(failing, values['fail-on']) ? failing[values['fail-on']] : undefined
    if (values.url === undefined || !URL.canParse(values.url) || results === undefined) return undefined
    return { ...values, url: values.url, results }
  } catch {
    return undefined
  }
}

const values = readArguments()
if (values === undefined) {
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
    process.exitCode = outcomes.some(({ result }) => values.results.includes(result)) ? 1 : 0
  } catch (error) {
    process.stderr.write(
      `the catalog cannot be tested: ${error instanceof Error ? error.message : String(error)}\n`,
    )
    process.exitCode = 1
  }
}
