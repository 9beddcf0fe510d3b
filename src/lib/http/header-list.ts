/** Names in lower case and values of headers, alternately: a name may occur several times. */
export type HeaderList = readonly string[]

export function hasHeader(headers: HeaderList, name: string): boolean {
  return headers.some((text, index) => index % 2 === 0 && text === name)
}

export function removeHeaders(headers: HeaderList, names: ReadonlySet<string>): string[] {
  return headers.filter((_, index) => !names.has(headers[index - (index % 2)] ?? ''))
}
