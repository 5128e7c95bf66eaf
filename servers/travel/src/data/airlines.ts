/**
 * One line per airline: IATA code, name, its hub airports, a fare factor in percent of a network carrier's, a comfort
 * score from 1 to 5, `links` for those that sell connections over their hubs or `points` for those that do not, and the
 * longest flight they make in km where one is set.
 */
export const airlineTable = `
DL | Delta Air Lines      | JFK ATL BOS SLC SEA LAX | 104 | 4 | links  |
UA | United Airlines      | EWR ORD IAD DEN SFO     | 100 | 3 | links  |
AA | American Airlines    | JFK MIA ORD LAX         | 99  | 3 | links  |
B6 | JetBlue              | JFK BOS                 | 82  | 3 | links  | 6600
AS | Alaska Airlines      | SEA SFO                 | 92  | 4 | links  | 5500
HA | Hawaiian Airlines    | HNL                     | 95  | 4 | points | 8500
AC | Air Canada           | YYZ YVR                 | 97  | 3 | links  |
AM | Aeroméxico           | MEX                     | 92  | 3 | links  | 10500
AV | Avianca              | BOG                     | 85  | 3 | links  | 9200
LA | LATAM                | GRU SCL LIM             | 94  | 3 | links  |
AR | Aerolíneas Argentinas | EZE                    | 90  | 2 | points | 11000
BA | British Airways      | LHR                     | 108 | 4 | links  |
VS | Virgin Atlantic      | LHR                     | 106 | 4 | points |
EI | Aer Lingus           | DUB                     | 88  | 3 | links  | 9200
AF | Air France           | CDG                     | 105 | 4 | links  |
KL | KLM                  | AMS                     | 103 | 4 | links  |
SN | Brussels Airlines    | BRU                     | 95  | 3 | links  | 9500
LH | Lufthansa            | FRA MUC                 | 107 | 4 | links  |
EW | Eurowings            | BER                     | 72  | 2 | points | 3500
LX | SWISS                | ZRH                     | 110 | 4 | links  |
OS | Austrian             | VIE                     | 100 | 4 | links  |
SK | SAS                  | CPH ARN OSL             | 94  | 3 | links  | 9500
FI | Icelandair           | KEF                     | 84  | 3 | links  | 8600
IB | Iberia               | MAD                     | 98  | 4 | links  |
VY | Vueling              | BCN                     | 62  | 2 | points | 3500
LV | LEVEL                | BCN                     | 74  | 3 | points | 9500
TP | TAP Air Portugal     | LIS                     | 89  | 3 | links  | 9500
AZ | ITA Airways          | FCO                     | 96  | 3 | links  | 11000
U2 | easyJet              | LGW MXP                 | 60  | 2 | points | 3500
FR | Ryanair              | DUB BRI                 | 52  | 1 | points | 3300
A3 | Aegean               | ATH                     | 92  | 4 | links  | 5000
TK | Turkish Airlines     | IST                     | 93  | 4 | links  |
AT | Royal Air Maroc      | RAK                     | 84  | 3 | points | 6500
MS | EgyptAir             | CAI                     | 82  | 2 | links  |
KQ | Kenya Airways        | NBO                     | 88  | 3 | links  |
EK | Emirates             | DXB                     | 112 | 5 | links  |
AI | Air India            | DEL                     | 84  | 2 | links  |
TG | Thai Airways         | BKK                     | 97  | 4 | links  |
SQ | Singapore Airlines   | SIN                     | 118 | 5 | links  |
GA | Garuda Indonesia     | DPS                     | 90  | 4 | points |
CX | Cathay Pacific       | HKG                     | 108 | 5 | links  |
NH | ANA                  | HND                     | 112 | 5 | links  |
JL | Japan Airlines       | NRT KIX                 | 110 | 5 | links  |
KE | Korean Air           | ICN                     | 105 | 5 | links  |
QF | Qantas               | SYD                     | 108 | 4 | links  |
NZ | Air New Zealand      | AKL                     | 102 | 4 | links  |
`
