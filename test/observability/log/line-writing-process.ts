// Writes two lines to standard output or to the named file, and exits in the named way before they are flushed.
import { openSync } from 'node:fs'
import { openLineWriter } from '../../../src/observability/log/line-writer.ts'

const [how, path] = process.argv.slice(2)
const descriptor = path === undefined ? process.stdout.fd : openSync(path, 'a')
const writer = openLineWriter(descriptor, { onLost: () => undefined, flushDelayMs: 60_000 })
writer.write('one\n')
writer.write('two\n')
if (how === 'error') throw new Error('an uncaught error')
