import type { Mailer } from './mail.ts'
import type { TravelProvider } from './providers/provider.ts'
import type { Bookings, Calendar, Outbox, Trips } from './store/index.ts'

/** What the tools, resources and prompts of one travel server share. */
export interface TravelServices {
  readonly provider: TravelProvider
  readonly calendar: Calendar
  readonly trips: Trips
  readonly bookings: Bookings
  readonly outbox: Outbox
  /** Undefined without a mail server. */
  readonly mailer: Mailer | undefined
  now(): Date
  /** Notifies subscribed clients that these resources changed. */
  notifyUpdated(...uris: string[]): void
  /** Notifies subscribed clients that the list of resources changed. */
  notifyListChanged(): void
}
