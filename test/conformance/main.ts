// Tests a catalog at any URL against the catalog API: npm run conformance -- --url URL --api-key KEY [--token TOKEN]
import { parseArgs } from 'node:util'
import { S3Client } from '@aws-sdk/client-s3'
import { runConformance, type Result } from './conformance.ts'
import { formatOutcomes } from './format-outcomes.ts'

/** The results that make the exit status 1, by the value of --fail-on. */
const failing: Readonly<Record<string, readonly Result[]>> = {
  never: [],
  failed: ['failed'],
  missing: ['failed', 'missing'],
  skipped: ['failed', 'missing', 'skipped'],
}

const usage = `usage: npm run conformance -- --url URL [--api-key KEY] [--token TOKEN] [--s3 ENDPOINT] [--fail-on ${Object.keys(failing).join('|')}]
Tests a server of the catalog API. It creates a namespace conformance_... with namespaces and tables, writes to them, and
removes them in the end; what lies at a location that the server did not choose for them is never dropped.
  --s3       URL of the object store of the tables, to test commits: the run writes into its own tables there, with the
             AWS credentials of the environment; without it, only tables in folders of this machine are written to
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
        s3: { type: 'string' },
        'fail-on': { type: 'string', default: 'failed' },
      },
    })
    const results = Object.hasOwn(failing, values['fail-on']) ? failing[values['fail-on']] : undefined
    if (values.url === undefined || !URL.canParse(values.url) || results === undefined) return undefined
    if (values.s3 !== undefined && !URL.canParse(values.s3)) return undefined
    return { ...values, url: values.url, results }
  } catch {
    return undefined
  }
}

function openObjectStore(endpoint: string): S3Client {
  const region = process.env['AWS_REGION'] ?? 'us-east-1'
  return new S3Client({ endpoint, region, forcePathStyle: true })
}

const values = readArguments()
if (values === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  const objectStore = values.s3 === undefined ? undefined : openObjectStore(values.s3)
  try {
    const outcomes = await runConformance({
      url: values.url,
      ...(objectStore && { objectStore }),
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
  } finally {
    objectStore?.destroy()
  }
}
