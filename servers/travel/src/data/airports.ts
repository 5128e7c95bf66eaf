/** One line per airport: IATA code, city code, name, latitude, longitude, and the longest flight it takes in km where one is set. */
export const airportTable = `
JFK | NYC | John F. Kennedy International          | 40.64 | -73.78 |
EWR | NYC | Newark Liberty International           | 40.69 | -74.17 |
LGA | NYC | LaGuardia                              | 40.78 | -73.87 | 2420
BOS | BOS | Boston Logan International             | 42.36 | -71.01 |
IAD | WAS | Washington Dulles International        | 38.95 | -77.46 |
DCA | WAS | Ronald Reagan Washington National      | 38.85 | -77.04 | 2020
ATL | ATL | Hartsfield–Jackson Atlanta             | 33.64 | -84.43 |
MIA | MIA | Miami International                    | 25.79 | -80.29 |
ORD | CHI | Chicago O'Hare International           | 41.98 | -87.91 |
MDW | CHI | Chicago Midway                         | 41.79 | -87.75 | 3000
DEN | DEN | Denver International                   | 39.86 | -104.67 |
SLC | PKC | Salt Lake City International           | 40.79 | -111.98 |
LAX | LAX | Los Angeles International              | 33.94 | -118.41 |
SFO | SFO | San Francisco International            | 37.62 | -122.38 |
SEA | SEA | Seattle–Tacoma International           | 47.45 | -122.31 |
HNL | HNL | Daniel K. Inouye International         | 21.32 | -157.92 |
YYZ | YTO | Toronto Pearson International          | 43.68 | -79.63 |
YTZ | YTO | Billy Bishop Toronto City              | 43.63 | -79.40 | 1000
YVR | YVR | Vancouver International                | 49.19 | -123.18 |
MEX | MEX | Benito Juárez International            | 19.44 | -99.07 |
CUN | CUN | Cancún International                   | 21.04 | -86.87 |
BGI | BGI | Grantley Adams International           | 13.07 | -59.49 |
BAQ | BAQ | Ernesto Cortissoz International        | 10.89 | -74.78 |
BOG | BOG | El Dorado International                | 4.70  | -74.15 |
LIM | LIM | Jorge Chávez International             | -12.02 | -77.11 |
GRU | SAO | São Paulo/Guarulhos                    | -23.43 | -46.47 |
CGH | SAO | São Paulo/Congonhas                    | -23.63 | -46.66 | 1500
GIG | RIO | Rio de Janeiro/Galeão                  | -22.81 | -43.25 |
EZE | BUE | Ministro Pistarini (Ezeiza)            | -34.82 | -58.54 |
AEP | BUE | Aeroparque Jorge Newbery               | -34.56 | -58.42 | 2300
SCL | SCL | Arturo Merino Benítez                  | -33.39 | -70.79 |
LHR | LON | London Heathrow                        | 51.47 | -0.45 |
LGW | LON | London Gatwick                         | 51.15 | -0.19 |
LCY | LON | London City                            | 51.51 | 0.06  | 1500
EDI | EDI | Edinburgh                              | 55.95 | -3.37 |
DUB | DUB | Dublin                                 | 53.42 | -6.27 |
CDG | PAR | Paris Charles de Gaulle                | 49.01 | 2.55  |
ORY | PAR | Paris Orly                             | 48.73 | 2.37  |
NCE | NCE | Nice Côte d'Azur                       | 43.66 | 7.22  |
AMS | AMS | Amsterdam Schiphol                     | 52.31 | 4.76  |
BRU | BRU | Brussels                               | 50.90 | 4.48  |
FRA | FRA | Frankfurt am Main                      | 50.04 | 8.56  |
MUC | MUC | Munich                                 | 48.35 | 11.79 |
BER | BER | Berlin Brandenburg                     | 52.37 | 13.50 |
ZRH | ZRH | Zurich                                 | 47.46 | 8.55  |
VIE | VIE | Vienna International                   | 48.11 | 16.57 |
PRG | PRG | Václav Havel Prague                    | 50.10 | 14.26 |
CPH | CPH | Copenhagen Kastrup                     | 55.62 | 12.66 |
ARN | STO | Stockholm Arlanda                      | 59.65 | 17.92 |
OSL | OSL | Oslo Gardermoen                        | 60.19 | 11.10 |
KEF | REK | Keflavík International                 | 63.99 | -22.61 |
BCN | BCN | Josep Tarradellas Barcelona–El Prat    | 41.30 | 2.08  |
MAD | MAD | Adolfo Suárez Madrid–Barajas           | 40.47 | -3.57 |
LIS | LIS | Lisbon Humberto Delgado                | 38.78 | -9.14 |
FCO | ROM | Rome Fiumicino                         | 41.80 | 12.24 |
MXP | MIL | Milan Malpensa                         | 45.63 | 8.72  |
LIN | MIL | Milan Linate                           | 45.45 | 9.28  | 1500
BRI | BRI | Bari Karol Wojtyła                     | 41.14 | 16.76 |
ATH | ATH | Athens Eleftherios Venizelos           | 37.94 | 23.94 |
IST | IST | Istanbul                               | 41.26 | 28.74 |
RAK | RAK | Marrakesh Menara                       | 31.61 | -8.04 |
CAI | CAI | Cairo International                    | 30.12 | 31.41 |
NBO | NBO | Jomo Kenyatta International            | -1.32 | 36.93 |
CPT | CPT | Cape Town International                | -33.97 | 18.60 |
DXB | DXB | Dubai International                    | 25.25 | 55.36 |
DEL | DEL | Indira Gandhi International            | 28.56 | 77.10 |
BKK | BKK | Suvarnabhumi                           | 13.69 | 100.75 |
SIN | SIN | Singapore Changi                       | 1.36  | 103.99 |
DPS | DPS | I Gusti Ngurah Rai International       | -8.75 | 115.17 |
HKG | HKG | Hong Kong International                | 22.31 | 113.92 |
HND | TYO | Tokyo Haneda                           | 35.55 | 139.78 |
NRT | TYO | Tokyo Narita                           | 35.77 | 140.39 |
KIX | OSA | Kansai International                   | 34.43 | 135.24 |
ITM | OSA | Osaka Itami                            | 34.79 | 135.44 | 1500
ICN | SEL | Seoul Incheon                          | 37.46 | 126.44 |
GMP | SEL | Seoul Gimpo                            | 37.56 | 126.79 | 2300
SYD | SYD | Sydney Kingsford Smith                 | -33.95 | 151.18 |
AKL | AKL | Auckland                               | -37.01 | 174.79 |
ZQN | ZQN | Queenstown                             | -45.02 | 168.74 |
`
