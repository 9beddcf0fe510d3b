/**
 * Pods and Services have addresses in 10.0.0.0/8, because an API server refuses endpoints on loopback. Processes listen
 * on, and connect to, the address with the same other numbers in 127.0.0.0/8.
 */
export function toLoopback(address: string): string {
  return address.replace(/^10\./, '127.')
}
