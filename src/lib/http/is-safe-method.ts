const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether requests with this method only read (RFC 9110, section 9.2.1). */
export function isSafeMethod(method: string): boolean {
  return safeMethods.has(method)
}
