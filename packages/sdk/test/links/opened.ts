import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { onTestFinished } from 'vitest'

export const text = (value: string) => ({ content: [{ type: 'text', text: value }] })

export async function open(url: string, options: ConnectOptions = {}) {
  const client = await connect(url, options)
  onTestFinished(() => client.close())
  return client
}

export function never(): never {
  throw new Error('the server saw nothing')
}
