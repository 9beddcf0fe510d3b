import type { Command } from 'commander'
import { parsePositiveInteger } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'

export function demoCommand(io: Io): Command {
  return newCommand('demo', io)
    .description('a tour of a running `dev`: tables, queries, a denied call, a commit and its audit records')
    .option('--url <url>', 'where `dev` listens', 'http://127.0.0.1:2333')
    .option('--data-dir <dir>', 'the data folder of `dev`', '.catalog-gateway')
    .option('--api-key <key>', 'the development key; default: the key in the data folder of `dev`')
    .option('--rows <number>', 'number of rows to stream', parsePositiveInteger, 100_000)
    .action(async (options: { url: string; dataDir: string; apiKey?: string; rows: number }) => {
      // Imported here, so that no other command loads the client library.
      const { runTour } = await import('./demo-tour.ts')
      await runTour(options, io)
    })
}
