"""The public data sets `conquer data` knows: where they are, how large, and under which terms."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remote:
    """One file of a data set. `sha256` is None where its publisher gives none: the first download is then recorded."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a name stands for; `reviews` is the published number of reviews where known."""

    name: str
    description: str
    licence: str
    files: tuple[Remote, ...]
    reviews: int | None = None


_RESEARCH = "no licence given; offered for research, please cite the authors; texts remain their writers'"
_SNAP = "http://snap.stanford.edu/data/amazon/productGraph/categoryFiles/reviews_{}_5.json.gz"
_UCSD = "https://datarepo.eng.ucsd.edu/mcauley_group/data/amazon_v2/categoryFilesSmall/{}_5.json.gz"
_MCAULEY = "https://mcauleylab.ucsd.edu/public_datasets/data/amazon_2023/raw/review_categories/{}.jsonl.gz"
_UD = "https://raw.githubusercontent.com/UniversalDependencies/UD_{}/r2.14/{}-ud-{}.conllu"

_2014 = {
    "Amazon_Instant_Video": 37_126,
    "Apps_for_Android": 752_937,
    "Automotive": 20_473,
    "Baby": 160_792,
    "Beauty": 198_502,
    "Books": 8_898_041,
    "CDs_and_Vinyl": 1_097_592,
    "Cell_Phones_and_Accessories": 194_439,
    "Clothing_Shoes_and_Jewelry": 278_677,
    "Digital_Music": 64_706,
    "Electronics": 1_689_188,
    "Grocery_and_Gourmet_Food": 151_254,
    "Health_and_Personal_Care": 346_355,
    "Home_and_Kitchen": 551_682,
    "Kindle_Store": 982_619,
    "Movies_and_TV": 1_697_533,
    "Musical_Instruments": 10_261,
    "Office_Products": 53_258,
    "Patio_Lawn_and_Garden": 13_272,
    "Pet_Supplies": 157_836,
    "Sports_and_Outdoors": 296_337,
    "Tools_and_Home_Improvement": 134_476,
    "Toys_and_Games": 167_597,
    "Video_Games": 231_780,
}
_2018 = [
    "AMAZON_FASHION",
    "All_Beauty",
    "Appliances",
    "Arts_Crafts_and_Sewing",
    "Automotive",
    "Books",
    "CDs_and_Vinyl",
    "Cell_Phones_and_Accessories",
    "Clothing_Shoes_and_Jewelry",
    "Digital_Music",
    "Electronics",
    "Gift_Cards",
    "Grocery_and_Gourmet_Food",
    "Home_and_Kitchen",
    "Industrial_and_Scientific",
    "Kindle_Store",
    "Luxury_Beauty",
    "Magazine_Subscriptions",
    "Movies_and_TV",
    "Musical_Instruments",
    "Office_Products",
    "Patio_Lawn_and_Garden",
    "Pet_Supplies",
    "Prime_Pantry",
    "Software",
    "Sports_and_Outdoors",
    "Tools_and_Home_Improvement",
    "Toys_and_Games",
    "Video_Games",
]
_2023 = [
    "All_Beauty",
    "Amazon_Fashion",
    "Appliances",
    "Arts_Crafts_and_Sewing",
    "Automotive",
    "Baby_Products",
    "Beauty_and_Personal_Care",
    "Books",
    "CDs_and_Vinyl",
    "Cell_Phones_and_Accessories",
    "Clothing_Shoes_and_Jewelry",
    "Digital_Music",
    "Electronics",
    "Gift_Cards",
    "Grocery_and_Gourmet_Food",
    "Handmade_Products",
    "Health_and_Household",
    "Health_and_Personal_Care",
    "Home_and_Kitchen",
    "Industrial_and_Scientific",
    "Kindle_Store",
    "Magazine_Subscriptions",
    "Movies_and_TV",
    "Musical_Instruments",
    "Office_Products",
    "Patio_Lawn_and_Garden",
    "Pet_Supplies",
    "Software",
    "Sports_and_Outdoors",
    "Subscription_Boxes",
    "Tools_and_Home_Improvement",
    "Toys_and_Games",
    "Unknown",
    "Video_Games",
]
_TREEBANKS = (
    ("English-EWT", "en_ewt", "CC BY-SA 4.0"),
    ("Afrikaans-AfriBooms", "af_afribooms", "CC BY-SA 4.0"),
    ("Gothic-PROIEL", "got_proiel", "CC BY-NC-SA 3.0"),
)


def datasets() -> dict[str, Dataset]:
    """{name: data set}, by name.

    >>> datasets()["amazon-2014/Automotive"].reviews
    20473
    """
    found = [
        *(
            Dataset(
                f"amazon-2014/{c}", "Amazon reviews to 2014, 5-core (McAuley)", _RESEARCH, (Remote(_SNAP.format(c)),), n
            )
            for c, n in _2014.items()
        ),
        *(
            Dataset(
                f"amazon-2018/{c}",
                "Amazon reviews to 2018, 5-core (Ni, McAuley)",
                _RESEARCH,
                (Remote(_UCSD.format(c)),),
            )
            for c in _2018
        ),
        *(
            Dataset(
                f"amazon-2023/{c}", "Amazon reviews to 2023 (Hou, McAuley)", _RESEARCH, (Remote(_MCAULEY.format(c)),)
            )
            for c in _2023
        ),
        *(
            Dataset(
                f"ud/{treebank}",
                "Universal Dependencies 2.14 treebank",
                licence,
                tuple(Remote(_UD.format(treebank, prefix, part)) for part in ("train", "dev", "test")),
            )
            for treebank, prefix, licence in _TREEBANKS
        ),
    ]
    return {dataset.name: dataset for dataset in found}
