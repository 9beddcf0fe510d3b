import { InvalidArgumentError } from 'commander'

export function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}

export function parseTime(text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('expected a time such as 2027-01-31T00:00:00Z')
  }
  return date
}
