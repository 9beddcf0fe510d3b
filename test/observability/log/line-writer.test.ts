import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  openLineWriter,
  type LineWriter,
  type LineWriterOptions,
} from '../../../src/observability/log/line-writer.ts'
import { startScript } from '../../e2e/built-program.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

function writerTo(path: string, options: Omit<LineWriterOptions, 'onLost'> = {}) {
  const descriptor = openSync(path, 'a')
  let lost = 0
  const writer = openLineWriter(descriptor, { ...options, onLost: (lines) => (lost += lines) })
  onTestFinished(async () => {
    await writer.close()
    closeSync(descriptor)
  })
  return { writer, lost: () => lost }
}

function writeNumbered(writer: LineWriter, count: number): string {
  const lines = Array.from({ length: count }, (_, index) => `line ${index} ${'é'.repeat(index % 50)}\n`)
  for (const line of lines) writer.write(line)
  return lines.join('')
}

it('writes all lines in order before close resolves', async () => {
  const file = join(await temporaryFolder(), 'log')
  const { writer, lost } = writerTo(file)
  const written = writeNumbered(writer, 5_000)
  await writer.close()
  expect(await readFile(file, 'utf8')).toBe(written)
  expect(lost()).toBe(0)
})

it('flushes a single line after a delay', async () => {
  const folder = await temporaryFolder()
  const [soon, late] = [join(folder, 'soon'), join(folder, 'late')]
  // On a busy machine, a short delay may be over before the file is read; the other one shows that there is one.
  writerTo(late, { flushDelayMs: 60_000 }).writer.write('alone\n')
  writerTo(soon, { flushDelayMs: 10 }).writer.write('alone\n')
  await eventually(async () => expect(await readFile(soon, 'utf8')).toBe('alone\n'))
  expect(await readFile(late, 'utf8')).toBe('')
})

it('counts lines that cannot be written, and tries later ones again', async () => {
  const { writer, lost } = writerTo('/dev/full', { flushDelayMs: 10 })
  writeNumbered(writer, 100)
  await eventually(() => expect(lost()).toBe(100))
  writeNumbered(writer, 10)
  await writer.close()
  expect(lost()).toBe(110)
})

it('drops lines beyond the buffer if the reader is blocked, without blocking', async () => {
  const fifo = join(await temporaryFolder(), 'fifo')
  await once(spawn('mkfifo', [fifo]), 'close')
  // Opened for reading and writing, so that opening does not block; nothing is read.
  const reader = openSync(fifo, 'r+')
  onTestFinished(() => closeSync(reader))
  const { writer, lost } = writerTo(fifo, { maxPendingChars: 100_000 })
  const line = `${'x'.repeat(999)}\n`
  for (let written = 0; written < 1_000; written += 1) writer.write(line)
  expect(lost()).toBeGreaterThan(700)
  // Drains the pipe, so that the writer can be closed.
  const drain = spawn('cat', [fifo], { stdio: ['ignore', 'ignore', 'inherit'] })
  await writer.close()
  drain.kill()
})

it('closing does not wait for a blocked reader of a pipe: the rest is lost', async () => {
  const fifo = join(await temporaryFolder(), 'fifo')
  await once(spawn('mkfifo', [fifo]), 'close')
  // As node opens standard error.
  const pipe = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  onTestFinished(() => closeSync(pipe))
  let lost = 0
  const writer = openLineWriter(pipe, { onLost: (lines) => (lost += lines) })
  for (let written = 0; written < 1_000; written += 1) writer.write(`${'x'.repeat(999)}\n`)
  await writer.close()
  expect(lost).toBeGreaterThan(0)
})

it('writes buffered lines when an uncaught error ends the process', async () => {
  const program = startScript(new URL('line-writing-process.ts', import.meta.url), ['error'])
  expect(await program.ended).toMatchObject({ status: 1, output: 'one\ntwo\n' })
})

it('does not keep a process alive whose lines cannot be written', async () => {
  const program = startScript(new URL('line-writing-process.ts', import.meta.url), ['over', '/dev/full'])
  expect(await program.ended).toMatchObject({ status: 0, messages: '' })
})
