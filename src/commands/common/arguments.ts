import { InvalidArgumentError } from 'commander'
import { parseDuration, parseTimestamp, validateTimestamp } from '../../lib/index.ts'
import { CatalogError, type Identifier, parseIdentifierText } from '../../catalog-api/index.ts'
import { type GatewaySettings, readGatewaySettings } from '../../config/index.ts'
import { runStep } from './command-failure.ts'
import type { Io } from './io.ts'

export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}

export function parseTime(text: string): Date {
  const error = validateTimestamp(text)
  if (error !== undefined) throw new InvalidArgumentError(error)
  return new Date(parseTimestamp(text))
}

/** Parses a time with zone, or a duration before now such as `1h` or `7d`. */
export function parseTimeOrAge(text: string): Date {
  const time = new Date(Date.now() - parseDuration(text))
  if (!Number.isNaN(time.getTime())) return time
  const error = validateTimestamp(text)
  if (error !== undefined)
    throw new InvalidArgumentError(`${error}, or a duration before now such as 1h or 7d`)
  return new Date(parseTimestamp(text))
}

export function parsePositiveInteger(text: string): number {
  const number = Number(text)
  if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('expected an integer above 0')
}

/** Parses an id, see `parseIdentifierText`. */
export function parseIdArgument(text: string): Identifier {
  try {
    return parseIdentifierText(text)
  } catch (error) {
    if (error instanceof CatalogError) throw new InvalidArgumentError(error.message)
    throw error
  }
}

/** Reads the settings of `--config`. Rejects with CommandFailure if they cannot be used. */
export function readConfig(file: string, { environment }: Io): Promise<GatewaySettings> {
  return runStep(`the settings in ${file} cannot be used`, () => readGatewaySettings(file, environment))
}
