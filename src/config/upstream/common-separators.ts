interface UpstreamNames {
  readonly delimiter: string
  readonly reservedInNames: readonly string[]
}

/** Lists the strings that no upstream allows in a name of an id. */
export function listCommonSeparators(upstreams: readonly UpstreamNames[]): readonly string[] {
  const [first = [], ...others] = upstreams.map(({ delimiter, reservedInNames }) => [
    delimiter,
    ...reservedInNames,
  ])
  return [...new Set(first)].filter((separator) => others.every((other) => other.includes(separator)))
}
